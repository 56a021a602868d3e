"""Python and Java, checked before the long installs: one sentence and exit code 1 when one is amiss.

In: the Python that runs it, of any age, and the environment. Out: nothing, or the sentence on stderr.
"""

import os
import sys

if sys.version_info < (3, 10):
    sys.exit(
        "Python 3.10 or later is needed, and this is %d.%d (%s): "
        "name another, as in `make test PYTHON=python3.11`."
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

import types

# `import audit` wants what is not there yet; a bare package of that name lets audit.spark.embedded.java in.
audit = types.ModuleType("audit")
audit.__path__ = [os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "audit")]
sys.modules["audit"] = audit

from audit.spark.embedded import java
from audit.core.errors import AuditError

try:
    java.find(os.environ)
    import venv  # noqa: F401
    import ensurepip  # noqa: F401
except AuditError as error:
    sys.exit(error.message)
except ImportError:
    sys.exit(
        "%s cannot make virtual environments: install python3-venv (Debian, Ubuntu), or name another Python, "
        "as in `make test PYTHON=python3.11`." % sys.executable
    )
