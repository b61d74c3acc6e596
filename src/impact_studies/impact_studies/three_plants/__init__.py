"""The same impact of the planar arm in three plants: flexible or rigid joints, compliant or rigid contact."""
