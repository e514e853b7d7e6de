package catalogue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Thread is an upstream issue, pull request or commit. Its text form is a word and a
// name: "issue containerd#8981", "fix containerd@402eb3166".
type Thread struct {
	// Word is the relation to the bug: issue (about this bug), fix, or compare (about a
	// similar bug).
	Word string
	// Name is REPOSITORY#NUMBER or REPOSITORY@COMMIT. The default owner of a repository is
	// moby for moby, and containerd for all others.
	Name string
}

var (
	threadWords = []string{"issue", "fix", "compare"}
	threadName  = regexp.MustCompile(`^[a-z0-9./-]+(#[1-9][0-9]*|@[0-9a-f]{7,40})$`)
)

// UnmarshalText parses the text form, for the YAML library.
func (t *Thread) UnmarshalText(text []byte) error {
	word, name, _ := strings.Cut(string(text), " ")
	if !slices.Contains(threadWords, word) || !threadName.MatchString(name) {
		return fmt.Errorf("thread %q: expected one of %v and a name, such as issue containerd#8981", text, threadWords)
	}
	*t = Thread{Word: word, Name: name}
	return nil
}

// String returns the text form.
func (t Thread) String() string { return t.Word + " " + t.Name }

// URL returns the address on GitHub.
func (t Thread) URL() string {
	repo, number, issue := strings.Cut(t.Name, "#")
	if !issue {
		repo, number, _ = strings.Cut(t.Name, "@")
	}
	switch {
	case repo == "containerd" || repo == "moby":
		repo += "/" + repo
	case !strings.Contains(repo, "/"):
		repo = "containerd/" + repo
	}
	if issue {
		return "https://github.com/" + repo + "/issues/" + number // GitHub redirects to a pull request
	}
	return "https://github.com/" + repo + "/commit/" + number
}
