from cutecc.lit import configure

configure(config, "copy-widths")
