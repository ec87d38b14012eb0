from groundset import privacy


def test_what_the_user_has_set_stays():
    environment = {"DO_NOT_TRACK": "0", "HF_HUB_OFFLINE": "0"}
    privacy.set_defaults(environment=environment)
    assert environment["DO_NOT_TRACK"] == "0"
    assert environment["HF_HUB_OFFLINE"] == "0"
    assert environment["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_the_hub_is_off_unless_it_is_asked_for():
    for hub, given, expected in (
        (False, {}, True),
        (False, {"GROUNDSET_HUB": "0"}, True),
        (False, {"GROUNDSET_HUB": "1"}, False),
        (True, {}, False),
    ):
        environment = dict(given)
        privacy.set_defaults(hub=hub, environment=environment)
        assert ("HF_HUB_OFFLINE" in environment) is expected


def test_the_docstring_explains_every_variable():
    environment: dict[str, str] = {}
    privacy.set_defaults(environment=environment)
    for name in environment:
        assert f"`{name}`" in str(privacy.__doc__)
