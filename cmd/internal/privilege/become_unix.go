//go:build unix

package privilege

import (
	"errors"
	"syscall"
)

// become changes the groups and then the user of all threads. The order
// matters, since only root can change groups.
func (u *User) become() error {
	if err := syscall.Setgroups(u.groups); err != nil {
		return err
	}
	if err := syscall.Setgid(u.gid); err != nil {
		return err
	}
	if err := syscall.Setuid(u.uid); err != nil {
		return err
	}
	if syscall.Setuid(0) == nil || syscall.Getuid() != u.uid || syscall.Geteuid() != u.uid || syscall.Getegid() != u.gid {
		return errors.New("couldn't give up root")
	}
	return nil
}
