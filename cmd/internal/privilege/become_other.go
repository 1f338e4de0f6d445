//go:build !unix

package privilege

import "errors"

func (u *User) become() error {
	return errors.New("this system cannot run a part of a program as another user")
}
