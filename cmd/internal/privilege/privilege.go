// Package privilege gives up rights of a program that reads from the network:
// root, new privileges, and on Linux access to files and programs that it does
// not need.
package privilege

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
)

// Nobody is the name of the user that replaces root if no other is known.
const Nobody = "nobody"

// A User is the user to change to. The zero value changes nothing.
type User struct {
	Name     string // empty if the user does not change
	home     string
	uid, gid int
	groups   []int
}

// Choose returns the user of the flag -Z. Without a name, root changes to the
// user who ran sudo, or else to nobody. Other users do not change.
func Choose(name string) (*User, error) {
	if os.Geteuid() != 0 {
		return chooseAsUser(name)
	}
	if id := os.Getenv("SUDO_UID"); name == "" && id != "" {
		u, err := user.LookupId(id)
		if err != nil {
			return nil, fmt.Errorf("SUDO_UID %s: no such user; name one with -Z", id)
		}
		return of(u)
	}
	if name == "" {
		if u, err := user.Lookup(Nobody); err == nil {
			return of(u)
		}
		const id = 65534 // used by convention, and in containers without a list of users
		return &User{Name: Nobody, uid: id, gid: id, groups: []int{id}}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, fmt.Errorf("-Z %s: no such user", name)
		}
	}
	return of(u)
}

// chooseAsUser accepts only the name of the user who runs the program.
func chooseAsUser(name string) (*User, error) {
	if u, err := user.Current(); name == "" || err == nil && (name == u.Username || name == u.Uid) {
		return &User{}, nil
	}
	return nil, fmt.Errorf("-Z %s: only root can become another user; drop -Z", name)
}

// of converts a user of the system. For root it returns the zero value.
func of(u *user.User) (*User, error) {
	uid, err := strconv.Atoi(u.Uid)
	gid, e := strconv.Atoi(u.Gid)
	if err = errors.Join(err, e); err != nil {
		return nil, fmt.Errorf("-Z %s: %w", u.Username, err)
	}
	if uid == 0 {
		return &User{}, nil
	}
	to := &User{Name: u.Username, home: u.HomeDir, uid: uid, gid: gid, groups: []int{gid}}
	all, err := u.GroupIds()
	if err != nil {
		return to, nil //nolint:nilerr // the user's own group is enough
	}
	for _, text := range all {
		if id, err := strconv.Atoi(text); err == nil && id != gid && id != 0 {
			to.groups = append(to.groups, id)
		}
	}
	return to, nil
}

// Become permanently changes the user of the program. Then it uses the folders
// of that user.
func (u *User) Become() error {
	if u.Name == "" {
		return nil
	}
	if err := u.become(); err != nil {
		return fmt.Errorf("-Z %s: %w", u.Name, err)
	}
	runtime := "/run/user/" + strconv.Itoa(u.uid)
	if _, err := os.Stat(runtime); err != nil {
		runtime = ""
	}
	for name, value := range map[string]string{"HOME": u.home, "USER": u.Name, "LOGNAME": u.Name, "XDG_RUNTIME_DIR": runtime, "XDG_CACHE_HOME": ""} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Explain adds a suggestion to an error of a file that the user may not write.
func (u *User) Explain(err error) error {
	if u == nil || u.Name == "" || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w; root was given up for the user %s: choose a directory that this user can write to, or another user with -Z", err, u.Name)
}
