package home

import "golang.org/x/sys/windows"

// documents returns the user's documents folder, which may be on another drive
// or in OneDrive.
func documents() (string, error) { return windows.KnownFolderPath(windows.FOLDERID_Documents, 0) }
