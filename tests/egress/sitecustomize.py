"""Python imports this module at startup if its folder is on the path."""

import egress_guard

egress_guard.install()
