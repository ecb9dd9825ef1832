"""Pictures for people who would rather look than read: what was found goes in, SVG or PNG comes out."""
