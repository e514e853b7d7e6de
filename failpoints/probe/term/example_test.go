package term_test

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// A term names the action at each hit of a point: here a crash at the third.
func ExampleParse() {
	t, err := term.Parse("2*off->1*crash")
	fmt.Println(t, err)
	for hit := 1; hit <= 4; hit++ {
		fmt.Println(hit, t.At(hit).Action)
	}

	_, err = term.Parse("1*crush")
	fmt.Println(err != nil)
	// Output:
	// 2*off->1*crash <nil>
	// 1 off
	// 2 off
	// 3 crash
	// 4 off
	// true
}
