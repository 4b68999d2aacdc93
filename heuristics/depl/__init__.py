"""The DepL loop of Fig. 3 with bounds: data, models, resources, and back."""
