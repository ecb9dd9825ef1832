"""The mathematics that worker models share: bases for new models, fits of all answers, and distributions."""
