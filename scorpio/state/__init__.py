"""Where scorpio keeps what must outlive a process."""
