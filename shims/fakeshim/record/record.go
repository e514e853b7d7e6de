// Package record keeps the state of a fake shim in a bundle, so that its delete command
// can clean up after the shim.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/shims/fakeshim/process"
)

const (
	pidFile  = "init.pid"           // the pid as text, as in the runc shim.
	initFile = "fakeshim.init.json" // the first process: a signal.Identity.
	exitFile = "fakeshim.exit.json" // its exit: a process.Exit.
	tmp      = ".fakeshim-tmp"      // suffix of a file that is being written
	perm     = os.FileMode(0o600)
)

// Created records the first process of a bundle.
func Created(bundle string, id signal.Identity) error {
	if err := writeJSON(bundle, initFile, id); err != nil {
		return err
	}
	return write(bundle, pidFile, []byte(strconv.Itoa(id.PID)))
}

// Exited records how the first process ended.
func Exited(bundle string, exit process.Exit) error { return writeJSON(bundle, exitFile, exit) }

// ReadInit returns the first process of a bundle. The error matches os.ErrNotExist if
// there was none.
func ReadInit(bundle string) (signal.Identity, error) {
	return readJSON[signal.Identity](bundle, initFile)
}

// ReadExit returns the exit of the first process. The error matches os.ErrNotExist if
// none was recorded.
func ReadExit(bundle string) (process.Exit, error) {
	return readJSON[process.Exit](bundle, exitFile)
}

func writeJSON(bundle, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return write(bundle, name, data)
}

// write writes a file with a rename, so that it is whole.
func write(bundle, name string, data []byte) error {
	path := filepath.Join(bundle, name)
	err := os.WriteFile(path+tmp, data, perm)
	if err == nil {
		err = os.Rename(path+tmp, path)
	}
	if err != nil {
		return fmt.Errorf("note in the bundle: %w", errors.Join(err, ignoreMissing(os.Remove(path+tmp))))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func readJSON[T any](bundle, name string) (v T, err error) {
	data, err := os.ReadFile(filepath.Join(bundle, name))
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("%s: %w", filepath.Join(bundle, name), err)
	}
	return v, nil
}
