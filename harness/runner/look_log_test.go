package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestWhatIsLoggedOften(t *testing.T) {
	const line = `time="2026-11-22T03:20:43Z" level=error msg="failed to get shim of 41, \"x\"" error=x` + "\n"
	other := strings.ReplaceAll(line, "of 41", "of 42")
	log := "panic: x\n" + strings.Repeat(line+other, oftenLogged) +
		strings.Repeat("level=info msg=hello\n", oftenLogged-1)
	want := []harness.Logged{{Message: `failed to get shim of 42, \"x\"`, Times: 2 * oftenLogged}}
	if got := often([]byte(log)); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
