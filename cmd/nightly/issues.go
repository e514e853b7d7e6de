package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
)

// issuesFlags are the flags of `nightly issues`.
type issuesFlags struct {
	repo, api, run, label string
	most                  int
	dry                   bool
}

func issuesCommand() *cobra.Command {
	var f issuesFlags
	c := &cobra.Command{
		Use:   "issues DIR...",
		Short: "Open or update a GitHub issue for each new finding of reports",
		Long: `Issues reads results.jsonl in each folder, and sees to it that each finding which is new, known in more
cases than are known, or gone, has one issue: it is opened, or brought up to date, or opened again where
it was closed as completed. One that was closed as not planned stays closed. What stands beneath the
part that is made here is kept. It takes the token from GITHUB_TOKEN.

Exit status: 0 every finding has its issue, 1 one has none, or a report cannot be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error { return f.issues(cmd.Context(), dirs, cmd.OutOrStdout()) },
	}
	fl := c.Flags()
	fl.StringVar(&f.repo, "repo", os.Getenv("GITHUB_REPOSITORY"), "owner/name (default $GITHUB_REPOSITORY)")
	fl.StringVar(&f.api, "api", cmp.Or(os.Getenv("GITHUB_API_URL"), "https://api.github.com"), "address of GitHub's API")
	fl.StringVar(&f.run, "run", runOf(os.Getenv), "the address of the run, for the issue (default: this job's run)")
	fl.StringVar(&f.label, "label", "shimquake-finding", "the label of these issues; other issues are ignored")
	fl.IntVar(&f.most, "most", 20, "the maximum number of issues to open, because more findings point to another problem")
	fl.BoolVar(&f.dry, "dry-run", false, "print the issues, without any request to GitHub")
	return c
}

// runOf returns the address of this job's run, or "".
func runOf(env func(string) string) string {
	if env("GITHUB_RUN_ID") == "" {
		return ""
	}
	return env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + env("GITHUB_RUN_ID")
}

func (f *issuesFlags) issues(ctx context.Context, dirs []string, out io.Writer) error {
	all, err := findingsOf(dirs)
	if err != nil {
		return err
	}
	if f.dry {
		for _, x := range all {
			fmt.Fprintf(out, "%s\n\n%s\n\n", x.title(), x.body(f.run))
		}
		fmt.Fprintf(out, "%d findings\n", len(all))
		return nil
	}
	g, err := f.tracker()
	if err != nil {
		return err
	}
	return f.track(ctx, g, all, out)
}

// track opens or updates the issue of each finding. If this fails for one finding, it
// continues with the others.
func (f *issuesFlags) track(ctx context.Context, g *tracker, all []finding, out io.Writer) error {
	known, err := g.issues(ctx)
	if err != nil {
		return err
	}
	opened, left := 0, 0
	var errs []error
	for _, x := range all {
		old, ok := known[x.key()]
		if !ok && opened == f.most {
			left++
			continue
		}
		did, err := g.see(ctx, x, old, f.run)
		if err != nil {
			errs = append(errs, fmt.Errorf("finding %s: %w", x.key(), err))
			continue
		}
		if !ok {
			opened++
		}
		fmt.Fprintf(out, "%s: %s\n", did, x.title())
	}
	if left > 0 {
		errs = append(errs, fmt.Errorf("%d more findings have no issue, because --most is %d; the report has all findings",
			left, f.most))
	}
	fmt.Fprintf(out, "%d findings, %d issues opened\n", len(all), opened)
	return errors.Join(errs...)
}

// finding is a finding of a report, with the report's folder.
type finding struct {
	report.Finding
	from string
}

// findingsOf returns the findings of all reports, each once: a sweep and a sweep of pairs
// may have the same finding.
func findingsOf(dirs []string) (all []finding, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		some, err := report.Findings(filepath.Join(dir, report.ResultsFile))
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			x := finding{s, filepath.Base(dir)}
			if !seen[x.key()] {
				seen[x.key()] = true
				all = append(all, x)
			}
		}
	}
	return all, nil
}

// key identifies a finding's issue. It contains the state: a new finding, and a known one
// that is gone, have separate issues. It cannot contain the end of the HTML comment
// around it.
func (x finding) key() string {
	return strings.ReplaceAll(quote.Line(string(x.State)+" "+x.Key), "-->", "--\\u003e")
}

// GitHub's limits for a title and for a body, which is 65,536 characters. The rest of
// the body is for the text after this program's part.
const (
	longestTitle = 250
	longestBody  = 40000
	longestPart  = longestBody / 3
)

func (x finding) title() string {
	return quote.Cut(quote.Line(string(x.State)+": "+x.Title), longestTitle)
}

// begin and end mark the part of an issue's text that this program writes.
const (
	begin = "<!-- shimquake-finding: "
	end   = "<!-- end of shimquake-finding -->"
)

// body returns the text of the finding's issue, between its marks.
func (x finding) body(run string) string {
	var b strings.Builder
	says := quote.Cut(strings.Join(append([]string{x.Title}, x.Says...), "\n"), longestPart)
	fmt.Fprintf(&b, "%s%s -->\n%s\n", begin, x.key(), quote.Fence("text", says))
	if x.Version != "" {
		fmt.Fprintf(&b, "Seen on containerd %s, in %d of the report's cases. ", quote.Markdown(x.Version), x.Cases)
	}
	if run != "" {
		fmt.Fprintf(&b, "Last seen in %s, whose artifacts have report.html and the evidence", run)
		if x.Evidence != "" {
			fmt.Fprintf(&b, " (%s)", quote.Code(filepath.Join(x.from, x.Evidence)))
		}
		b.WriteString(".")
	}
	if x.Replay != "" {
		fmt.Fprintf(&b, "\n\nReplay it, as root, in a checkout after `make build` (`PATH=$PWD/bin:$PATH`):\n\n%s",
			quote.Fence("sh", quote.Cut(x.Replay, longestPart)))
	}
	text := strings.ReplaceAll(b.String(), end, strings.Replace(end, "<", `\u003c`, 1))
	return quote.Cut(text, longestBody) + "\n" + end + "\n"
}
