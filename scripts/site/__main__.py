"""Write the Markdown of every page of the site to a folder, by default `build/pages`."""

import sys
from pathlib import Path

from scripts.pack import files
from scripts.site import machines

if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else "build/pages")
    print(f"{machines.write(files.ROOT, folder)} pages in {folder}")
