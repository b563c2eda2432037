"""Host programs: verified, evaluated, and reduced to launch plans."""
