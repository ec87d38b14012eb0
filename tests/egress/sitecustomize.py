"""Python imports this module by itself where its folder is on the path."""

import egress_guard

egress_guard.install()
