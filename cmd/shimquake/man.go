package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages, one for each command",
		Example: `  shimquake man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			header := &doc.GenManHeader{Section: "1", Source: newAbout().Version, Manual: "Shimquake"}
			if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
				epoch, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return fmt.Errorf("$SOURCE_DATE_EPOCH is %q: it must be a number of seconds since 1970", text)
				}
				date := time.Unix(epoch, 0).UTC()
				header.Date = &date
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			top := cmd.Root()
			top.DisableAutoGenTag = true // The tag has the current time, so pages would differ.
			return doc.GenManTree(top, header, args[0])
		},
	}
}
