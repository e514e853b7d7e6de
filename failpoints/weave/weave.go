// Package weave puts probes into the source of a program before it is built.
//
// The workspace of a build is a folder with go.mod and go.sum files. Weaving copies the
// modules to edit out of the module cache into the workspace, because the flag -overlay
// refuses files of the cache. The copies are edited, and replace the modules. Edits keep
// every line where it was, so stack traces and logs still match the release.
//
// Ttrpc weaves the methods between containerd and its shims. Statements weaves the
// code that creates, starts and deletes shims and tasks. folders.yaml lists the folders
// of that code for each branch of releases. If a release moves the code to another
// folder, add an entry to folders.yaml. Without it, the build with probes fails.
package weave

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/child"
)

// ProbeModule is the path of the module, and of the package, that probes call.
const ProbeModule = "github.com/shimquake/shimquake/failpoints/probe"

const probeVersion = "v0.0.0-woven"

// Step edits one module of a build. Several steps may edit the same module, one after the
// other.
type Step struct {
	Module string                 // path of the module, as a go.mod names it
	Edit   func(dir string) error // edits the copy of the module in dir
}

// ErrSite is the error of an edit whose source is not as expected: a release has changed
// it. Without this error the probe would be missing without a notice.
var ErrSite = errors.New("the source to weave is not as expected")

// Apply weaves a workspace: it applies the steps in their order and links the probe
// package, whose source is the folder probe of this project. The workspace's go.mod is
// changed, its go.sum is not: the selected versions stay.
func Apply(ctx context.Context, workspace, probe string, steps ...Step) error {
	if len(steps) == 0 {
		return nil
	}
	goMod := filepath.Join(workspace, "go.mod")
	if err := linkProbe(goMod, filepath.Join(workspace, "woven", "probe"), probe); err != nil {
		return fmt.Errorf("link the probe package: %w", err)
	}
	for _, step := range steps {
		dir := filepath.Join(workspace, "woven", filepath.FromSlash(step.Module))
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			if err := copyModule(ctx, workspace, step.Module, dir); err != nil {
				return fmt.Errorf("copy module %s: %w", step.Module, err)
			}
		}
		if err := step.Edit(dir); err != nil {
			return fmt.Errorf("weave %s: %w", step.Module, err)
		}
	}
	return nil
}

// linkProbe copies the probe's source into a module of its own. It has no dependencies,
// so that it cannot change the versions that a release is built with.
func linkProbe(goMod, dest, source string) error {
	own, err := readModFile(filepath.Join(source, "..", "..", "go.mod"))
	if err != nil {
		return err
	}
	if err := copySource(source, dest); err != nil {
		return err
	}
	text := fmt.Sprintf("module %s\n\ngo %s\n", ProbeModule, own.Go.Version)
	if err := os.WriteFile(filepath.Join(dest, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	return editModFile(goMod, func(f *modfile.File) error {
		if f.Go == nil || semver.Compare("v"+f.Go.Version, "v"+own.Go.Version) < 0 {
			if err := f.AddGoStmt(own.Go.Version); err != nil {
				return err
			}
		}
		return errors.Join(f.AddRequire(ProbeModule, probeVersion), replaceBy(f, goMod, ProbeModule, dest))
	})
}

// copyModule copies the module that the workspace selects, and replaces the module by the
// copy.
func copyModule(ctx context.Context, workspace, module, dest string) error {
	source, err := ModuleDir(ctx, workspace, module)
	if err != nil {
		return err
	}
	if err := copyTree(source, dest); err != nil {
		return err
	}
	goMod := filepath.Join(workspace, "go.mod")
	return editModFile(goMod, func(f *modfile.File) error {
		for _, r := range f.Replace { // a replace of one version has precedence over ours
			if r.Old.Path == module {
				if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
					return err
				}
			}
		}
		return replaceBy(f, goMod, module, dest)
	})
}

// replaceBy replaces a module by a folder. Programs have the text of the path, so it is
// relative: two builds of the same source are then the same binaries.
func replaceBy(f *modfile.File, goMod, module, dir string) error {
	rel, err := filepath.Rel(filepath.Dir(goMod), dir)
	if err != nil {
		return err
	}
	return f.AddReplace(module, "", "./"+filepath.ToSlash(rel), "")
}

// ModuleDir returns the folder of the module that the workspace selects. It downloads the
// module if it is not in the module cache.
func ModuleDir(ctx context.Context, workspace, module string) (string, error) {
	list := []string{"list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module}
	dir, err := Go(ctx, workspace, list...)
	if err == nil && dir == "" {
		if _, err = Go(ctx, workspace, "mod", "download", module); err == nil {
			dir, err = Go(ctx, workspace, list...)
		}
	}
	if err == nil && dir == "" {
		err = errors.New("go list names no folder for it")
	}
	return dir, err
}

// Go returns the output of a go command in a folder, also with an error. The error has
// the error output.
func Go(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := child.Command(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "PWD="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), err
}

func readModFile(name string) (*modfile.File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, data, nil)
}

func editModFile(name string, edit func(*modfile.File) error) error {
	f, err := readModFile(name)
	if err != nil {
		return err
	}
	if err := edit(f); err != nil {
		return err
	}
	f.Cleanup()
	data, err := f.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
