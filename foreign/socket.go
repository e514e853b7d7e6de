package foreign

import (
	"context"
	"io/fs"
	"net"
)

// Dial connects to a UNIX socket of the folder. It connects to the socket that the name
// stands for, and to nothing else: a symbolic link is a [KindError].
func (d *Dir) Dial(ctx context.Context, name string) (net.Conn, error) {
	h, err := d.handle(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if h.Mode()&fs.ModeSocket == 0 {
		return nil, h.isNot("a socket")
	}
	var conn net.Conn
	err = h.by("connect to", func(path string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}
