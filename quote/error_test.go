package quote_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/quote"
)

func TestError(t *testing.T) {
	const path, longer = "a\nheld", "a\nheld/b\x1b"
	cause := errors.New("no\nway")
	for _, tt := range []struct {
		err   error
		words []string
		want  string
	}{
		{cause, nil, "no\nway"},
		{&fs.PathError{Op: "open", Path: path, Err: cause}, nil, "open a\\nheld: no\nway"},
		{&os.LinkError{Op: "rename", Old: path, New: longer, Err: cause}, nil, "rename a\\nheld a\\nheld/b\\u001b: no\nway"},
		{fmt.Errorf("%s: %w", path, errors.Join(cause, &fs.PathError{Op: "open", Path: path, Err: cause})), nil,
			"a\\nheld: no\nway\nopen a\\nheld: no\nway"},
		{fmt.Errorf("%w, %w", cause, &exec.Error{Name: path, Err: cause}), nil, "no\nway, exec: \"a\\nheld\": no\nway"},
		{fmt.Errorf("unknown flag: %s", longer), []string{"", path, longer}, "unknown flag: a\\nheld/b\\u001b"},
	} {
		must.Equal(t, quote.Error(tt.err, tt.words...), tt.want)
	}
}
