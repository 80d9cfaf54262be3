"""`python -m rehearsal.world`."""

import sys

from rehearsal.world.hand import main

sys.exit(main())
