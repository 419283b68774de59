-- A launch that waited in the cluster's own queue because its node was kept for something else, and was withdrawn.
ALTER TABLE launch_losses ADD COLUMN is_kept_out INTEGER NOT NULL DEFAULT 0;
