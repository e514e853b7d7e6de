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
func (c *Client) askImages(ctx context.Context, service api.ImageServiceClient, all []*harness.Instance) {
	list, err := service.ListImages(ctx, &api.ListImagesRequest{})
	var names []string
	for _, i := range all {
		if i.Given == nil || slices.Contains(names, i.Given.Image) {
			continue
		}
		name := i.Given.Image
		names = append(names, name)
		c.image(harness.CRIImage{Name: name}, listed(list, name), err)
		if id := c.imageStatus(ctx, service, harness.CRIImage{Name: name, Asked: name}); id != "" {
			c.imageStatus(ctx, service, harness.CRIImage{Name: name, Asked: id})
		}
	}
}

// listed is the image of a list that has a name; nil where none has.
func listed(list *api.ListImagesResponse, name string) *api.Image {
	for _, k := range list.GetImages() {
		if slices.Contains(k.RepoTags, name) {
			return k
		}
	}
	return nil
}

// imageStatus asks for an image by its name or id, and returns its id.
func (c *Client) imageStatus(ctx context.Context, service api.ImageServiceClient, is harness.CRIImage) string {
	r, err := service.ImageStatus(ctx, &api.ImageStatusRequest{Image: &api.ImageSpec{Image: is.Asked}})
	c.image(is, r.GetImage(), err)
	return r.GetImage().GetId()
}

// image notes an answer of CRI's about an image.
func (c *Client) image(is harness.CRIImage, k *api.Image, err error) {
	is.ID, is.Tags, is.Size = k.GetId(), k.GetRepoTags(), k.GetSize()
	if err != nil {
		is.Err = oracle.FailedOf(err)
	}
	c.note(func(s *harness.CRISeen) { s.Images = append(s.Images, is) })
}
