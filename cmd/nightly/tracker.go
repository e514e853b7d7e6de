package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/google/go-github/v89/github"

	"github.com/shimquake/shimquake/quote"
)

// tracker has the issues of a repository with the label.
type tracker struct {
	client             *github.Client
	owner, repo, label string
}

func (f *issuesFlags) tracker() (*tracker, error) {
	owner, repo, ok := strings.Cut(f.repo, "/")
	token := os.Getenv("GITHUB_TOKEN")
	if !ok || owner == "" || repo == "" || token == "" || f.label == "" {
		return nil, errors.New("set --repo owner/name, --label and GITHUB_TOKEN; or use --dry-run, which needs none of them")
	}
	c, err := github.NewClient(github.WithAuthToken(token), github.WithURLs(&f.api, nil), github.WithEnvProxy())
	if err != nil {
		return nil, fmt.Errorf("GitHub's API: %w", err)
	}
	return &tracker{c, owner, repo, f.label}, nil
}

// issues returns the issues of findings, by their keys. It prefers an open issue to a
// closed one, and then the oldest. It creates the label if it does not exist, because
// it finds the issues by their label.
func (g *tracker) issues(ctx context.Context) (map[string]*github.Issue, error) {
	if err := g.makeLabel(ctx); err != nil {
		return nil, err
	}
	o := &github.IssueListByRepoOptions{Labels: []string{g.label}, State: "all", Sort: "created", Direction: "asc",
		ListOptions: github.ListOptions{PerPage: 100}}
	by := map[string]*github.Issue{}
	for i, err := range g.client.Issues.ListByRepoIter(ctx, g.owner, g.repo, o) {
		if err != nil {
			return nil, fmt.Errorf("list issues: %w", err)
		}
		key := keyOf(i)
		if key == "" || i.IsPullRequest() {
			continue
		}
		if old := by[key]; old == nil || old.GetState() == "closed" && i.GetState() == "open" {
			by[key] = i
		}
	}
	return by, nil
}

// keyOf returns the key in an issue's first line, or "".
func keyOf(i *github.Issue) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(i.GetBody()), begin)
	key, _, closed := strings.Cut(rest, " -->")
	if !ok || !closed || strings.Contains(key, "\n") {
		return ""
	}
	return key
}

func (g *tracker) makeLabel(ctx context.Context) error {
	_, res, err := g.client.Issues.GetLabel(ctx, g.owner, g.repo, g.label)
	if err != nil && res != nil && res.StatusCode == http.StatusNotFound {
		about := "Found by a nightly run of shimquake; one issue for each finding"
		_, _, err = g.client.Issues.CreateLabel(ctx, g.owner, g.repo,
			&github.Label{Name: &g.label, Description: &about, Color: github.Ptr("b60205")})
	}
	if err != nil {
		return fmt.Errorf("the label %s: %w", g.label, err)
	}
	return nil
}

// see opens the issue of a finding, or updates it, and reports which.
func (g *tracker) see(ctx context.Context, x finding, old *github.Issue, run string) (string, error) {
	body := x.body(run)
	if old == nil {
		i, _, err := g.client.Issues.Create(ctx, g.owner, g.repo,
			&github.IssueRequest{Title: github.Ptr(x.title()), Body: &body, Labels: &[]string{g.label}})
		return fmt.Sprintf("opened #%d", i.GetNumber()), err
	}
	n := old.GetNumber()
	if old.GetState() == "closed" && old.GetStateReason() == "not_planned" {
		return fmt.Sprintf("#%d is closed as not planned", n), nil
	}
	if _, theirs, ok := strings.Cut(old.GetBody(), end); ok {
		body = strings.TrimSpace(body) + theirs
	}
	change, did := &github.IssueRequest{Body: &body}, "updated"
	if old.GetState() == "closed" {
		change.State, did = github.Ptr("open"), "opened again"
	}
	if _, _, err := g.client.Issues.Edit(ctx, g.owner, g.repo, n, change); err != nil {
		return "", err
	}
	if did == "updated" {
		return fmt.Sprintf("%s #%d", did, n), nil
	}
	again := "It is seen again on containerd " + quote.Markdown(x.Version) + ": " + run
	_, _, err := g.client.Issues.CreateComment(ctx, g.owner, g.repo, n, &github.IssueComment{Body: &again})
	return fmt.Sprintf("%s #%d", did, n), err
}
