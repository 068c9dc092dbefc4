import ImageModel
