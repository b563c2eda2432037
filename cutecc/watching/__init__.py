"""Recording the kernels that a program compiles through the CuTe DSL, and compiling them again to look into them.

A folder on `PYTHONPATH` starts the recorder in every Python process of the program (`hook/sitecustomize.py`). It
writes what is traced into the folder of the watch (`recorder`). What is read there (`recording`) is compiled and shown
later, in processes of their own (`finishing`, `index`).
"""
