"""What PyInstaller's one file does before scorpio/__main__.py: it stands in for the launcher and for a Python.

Run by its bootloader as a runtime hook (scorpio.spec); one_file.py says where.
"""

import os
import sys

os.environ["SCORPIO_EXECUTABLE"] = sys.executable  # start this for another scorpio; commands do not inherit it

if sys.argv[1:4] == ["-I", "-S", "-c"]:  # scorpio/supervisors.py starts the supervisor with sys.executable
    from scorpio.supervise import main

    main()
    sys.exit()
