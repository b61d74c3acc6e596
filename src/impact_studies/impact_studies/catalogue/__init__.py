"""The studies, a module each, which defines `STUDY`; what one needs besides lies in a package beside this one."""
