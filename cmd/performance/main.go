// Command performance makes docs/performance.md from the results of `make bench`, and
// prints the properties of the machine.
//
//	performance -machine >out/bench.txt
//	performance <out/bench.txt >docs/performance.md
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/shimquake/shimquake/harness/runner"
)

func main() {
	machine := flag.Bool("machine", false, "print the properties of this machine, as lines of a benchmark's output")
	flag.Parse()
	if err := run(*machine, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(machine bool, in io.Reader, out io.Writer) error {
	if machine {
		m := runner.ThisMachine()
		_, err := fmt.Fprintf(out, "cores: %d\nkernel: %s\ncgroups: %s\nday: %s\n", m.CPUs, m.Kernel, m.Cgroups,
			time.Now().UTC().Format(time.DateOnly))
		return err
	}
	f, err := read(in)
	if err != nil {
		return err
	}
	return f.write(out)
}
