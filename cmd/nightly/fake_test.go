package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// issue is an issue of the fake GitHub.
type issue struct {
	Number      int      `json:"number"`
	Title       string   `json:"title"`
	Body        string   `json:"body"`
	State       string   `json:"state"`
	StateReason string   `json:"state_reason,omitempty"`
	PullRequest any      `json:"pull_request,omitempty"`
	Labels      []string `json:"-"`
	comments    []string
}

// fake is the part of GitHub that the program uses. Its pages have two entries.
type fake struct {
	*httptest.Server
	t      *testing.T
	issues []*issue
	labels []string
	writes int
	refuse string // the path of a request that fails
}

const pageOfTwo = 2

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/o/r/labels/{name}", f.label)
	mux.HandleFunc("POST /repos/o/r/labels", f.makeLabel)
	mux.HandleFunc("GET /repos/o/r/issues", f.list)
	mux.HandleFunc("POST /repos/o/r/issues", f.open)
	mux.HandleFunc("PATCH /repos/o/r/issues/{n}", f.edit)
	mux.HandleFunc("POST /repos/o/r/issues/{n}/comments", f.comment)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if f.refuse != "" && strings.HasSuffix(r.URL.Path, f.refuse) && r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet {
			f.writes++
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	t.Setenv("GITHUB_TOKEN", "secret")
	return f
}

func (f *fake) read(r *http.Request, to any) {
	if err := json.NewDecoder(r.Body).Decode(to); err != nil {
		f.t.Error(err)
	}
}

func (f *fake) answer(w http.ResponseWriter, status int, what any) {
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(what); err != nil {
		f.t.Error(err)
	}
}

func (f *fake) label(w http.ResponseWriter, r *http.Request) {
	for _, l := range f.labels {
		if l == r.PathValue("name") {
			f.answer(w, http.StatusOK, map[string]string{"name": l})
			return
		}
	}
	f.answer(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
}

func (f *fake) makeLabel(w http.ResponseWriter, r *http.Request) {
	var l struct{ Name string }
	f.read(r, &l)
	f.labels = append(f.labels, l.Name)
	f.answer(w, http.StatusCreated, l)
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	var all []*issue
	for _, i := range f.issues {
		for _, l := range i.Labels {
			if l == r.FormValue("labels") && (r.FormValue("state") == "all" || i.State == "open") {
				all = append(all, i)
			}
		}
	}
	page, _ := strconv.Atoi(r.FormValue("page"))
	page = max(page, 1)
	from, to := min((page-1)*pageOfTwo, len(all)), min(page*pageOfTwo, len(all))
	if to < len(all) {
		w.Header().Set("Link", fmt.Sprintf(`<%s/repos/o/r/issues?page=%d>; rel="next"`, f.URL, page+1))
	}
	f.answer(w, http.StatusOK, all[from:to])
}

func (f *fake) open(w http.ResponseWriter, r *http.Request) {
	i := &issue{Number: len(f.issues) + 1, State: "open"}
	var in struct {
		Title, Body string
		Labels      []string
	}
	f.read(r, &in)
	i.Title, i.Body, i.Labels = in.Title, in.Body, in.Labels
	f.issues = append(f.issues, i)
	f.answer(w, http.StatusCreated, i)
}

func (f *fake) of(r *http.Request) *issue {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 1 || n > len(f.issues) {
		f.t.Fatalf("no issue %q", r.PathValue("n"))
	}
	return f.issues[n-1]
}

func (f *fake) edit(w http.ResponseWriter, r *http.Request) {
	var in struct{ Body, State *string }
	f.read(r, &in)
	i := f.of(r)
	if in.Body != nil {
		i.Body = *in.Body
	}
	if in.State != nil {
		i.State, i.StateReason = *in.State, "reopened"
	}
	f.answer(w, http.StatusOK, i)
}

func (f *fake) comment(w http.ResponseWriter, r *http.Request) {
	var in struct{ Body string }
	f.read(r, &in)
	i := f.of(r)
	i.comments = append(i.comments, in.Body)
	f.answer(w, http.StatusCreated, in)
}
