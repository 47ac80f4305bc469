"""The manifests, one TOML file a model; installed as `smile_lite_models`."""
