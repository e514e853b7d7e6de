package sweep

import (
	"flag"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// checker runs rapid.Check outside of go test, several at once. What rapid offers for that is its TB interface and its flags, of which there is one
// set a process: each check needs its own seed, and rapid reads it before it draws the first plan. So one check begins after the other.
type checker struct {
	beginning sync.Mutex
	restore   map[string]string
}

// checks is for one property at a time.
var checks sync.Mutex

// newChecker sets rapid's flags for as long as the checker is open: one plan a check, and shrink as the time that a failure is made smaller.
func newChecker(shrink time.Duration) (*checker, error) {
	checks.Lock()
	if !flag.Parsed() { // rapid asks testing.Short(), which wants its flags parsed; shimquake's own are not among them
		testing.Init()
		if err := flag.CommandLine.Parse(nil); err != nil {
			return nil, err
		}
	}
	one := "1"
	if testing.Short() { // rapid divides by 5
		one = "5"
	}
	c := &checker{restore: map[string]string{"rapid.seed": ""}}
	for name, value := range map[string]string{"rapid.checks": one, "rapid.nofailfile": "true", "rapid.shrinktime": shrink.String()} {
		f := flag.Lookup(name)
		if f == nil {
			return nil, fmt.Errorf("rapid has no flag %s any more", name)
		}
		c.restore[name] = f.Value.String()
		if err := flag.Set(name, value); err != nil {
			return nil, err
		}
	}
	c.restore["rapid.seed"] = flag.Lookup("rapid.seed").Value.String()
	return c, nil
}

// close gives the flags back.
func (c *checker) close() {
	for name := range maps.Keys(c.restore) {
		_ = flag.Set(name, c.restore[name]) // they have been read from there
	}
	checks.Unlock()
}

// check lets rapid draw one plan from a seed, and shrink it if prop fails on it.
func (c *checker) check(seed uint64, prop func(*rapid.T)) *bench {
	b := &bench{name: fmt.Sprintf("shimquake-random-%d", seed)}
	c.beginning.Lock()
	var begun sync.Once
	defer begun.Do(c.beginning.Unlock)
	if err := flag.Set("rapid.seed", strconv.FormatUint(seed, 10)); err != nil {
		panic(err) // a number
	}
	rapid.Check(b, func(t *rapid.T) {
		begun.Do(c.beginning.Unlock)
		prop(t)
	})
	return b
}

// bench is what rapid.Check reports to in the place of a *testing.T. A property's own failures go to its *rapid.T; what comes here is rapid's last
// word, so that FailNow need not end the goroutine.
type bench struct {
	name   string
	mu     sync.Mutex
	failed bool
	log    []string
}

func (b *bench) note(fail bool, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = b.failed || fail
	if text != "" {
		b.log = append(b.log, text)
	}
}

func (b *bench) Helper()                   {}
func (b *bench) Name() string              { return b.name }
func (b *bench) Logf(f string, a ...any)   { b.note(false, fmt.Sprintf(f, a...)) }
func (b *bench) Log(a ...any)              { b.note(false, fmt.Sprint(a...)) }
func (b *bench) Skipf(f string, a ...any)  { b.note(false, fmt.Sprintf(f, a...)) }
func (b *bench) Skip(a ...any)             { b.note(false, fmt.Sprint(a...)) }
func (b *bench) SkipNow()                  {}
func (b *bench) Errorf(f string, a ...any) { b.note(true, fmt.Sprintf(f, a...)) }
func (b *bench) Error(a ...any)            { b.note(true, fmt.Sprint(a...)) }
func (b *bench) Fatalf(f string, a ...any) { b.note(true, fmt.Sprintf(f, a...)) }
func (b *bench) Fatal(a ...any)            { b.note(true, fmt.Sprint(a...)) }
func (b *bench) FailNow()                  { b.note(true, "") }
func (b *bench) Fail()                     { b.note(true, "") }

func (b *bench) Failed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}
