"""Plants with rigid contact, of rigid and of flexible joints."""
