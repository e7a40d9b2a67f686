"""`python -m heaplake.fleet analyze ...`"""

import sys

from heaplake.cluster._cli import main

sys.exit(main(sys.argv[1:]))
