"""`python -m heaplake.fleet analyze ...`"""

import sys

from heaplake.fleet._cli import main

sys.exit(main(sys.argv[1:]))
