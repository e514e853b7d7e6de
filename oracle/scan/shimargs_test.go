package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestParseShimArgs(t *testing.T) {
	must.Table(t, "testdata/shimargs.txt", func(argv string) string {
		got, ok := ParseShimArgs(strings.Fields(argv))
		return fmt.Sprintf("%+v %v", got, ok)
	})
}

func FuzzParseShimArgs(f *testing.F) {
	f.Add("shim\x00-namespace\x00n\x00-id\x00i\x00delete")
	f.Add("shim\x00--id=i\x00-\x00-namespace")
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := ParseShimArgs(strings.Split(text, "\x00"))
		must.Equal(t, ok, a.ID != "" && a.Namespace != "", text, a)
		if a.Action != "" && a.Action != "start" && a.Action != "delete" {
			t.Errorf("%q: action %q", text, a.Action)
		}
	})
}
