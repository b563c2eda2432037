"""What every part of cutecc may use: processes, files, text for people, source locations. Nothing of compilers."""
