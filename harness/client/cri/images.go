package cri

import (
	"context"
	"slices"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// askImages asks for the images of containers: in the list of all, by their names, and by
// the ids that come of that.
func (c *Client) askImages(ctx context.Context, all []*harness.Instance) {
	_, conn, err := c.Up(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	service := api.NewImageServiceClient(conn)
	list, err := service.ListImages(ctx, &api.ListImagesRequest{})
	var names []string
	for _, i := range all {
		if i.Given == nil || slices.Contains(names, i.Given.Image) {
			continue
		}
		name := i.Given.Image
		names = append(names, name)
		var listed *api.Image
		for _, k := range list.GetImages() {
			if slices.Contains(k.RepoTags, name) {
				listed = k
			}
		}
		c.image(name, "", listed, err)
		if id := c.imageStatus(ctx, service, name, name); id != "" {
			c.imageStatus(ctx, service, name, id)
		}
	}
}

// imageStatus asks for an image by its name or id, and returns its id.
func (c *Client) imageStatus(ctx context.Context, service api.ImageServiceClient, name, by string) string {
	r, err := service.ImageStatus(ctx, &api.ImageStatusRequest{Image: &api.ImageSpec{Image: by}})
	c.image(name, by, r.GetImage(), err)
	return r.GetImage().GetId()
}

// image notes an answer of CRI's about an image.
func (c *Client) image(name, by string, k *api.Image, err error) {
	is := harness.CRIImage{Name: name, Asked: by, ID: k.GetId(), Tags: k.GetRepoTags(), Size: k.GetSize()}
	if err != nil {
		is.Err = oracle.FailedOf(err)
	}
	c.note(func(s *harness.CRISeen) { s.Images = append(s.Images, is) })
}
