"""What `cutecc.driver` strings together: what is asked of a compilation, planned, cached, made, kept and told."""
