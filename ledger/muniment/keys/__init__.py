"""Who may sign: keys, their enrolment, and from which event to which."""
