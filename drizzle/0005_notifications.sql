CREATE TABLE `notifications` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text NOT NULL,
	`store_id` integer,
	`channel` text NOT NULL,
	`recipient` text NOT NULL,
	`type` text NOT NULL,
	`notice` text NOT NULL,
	`created_at` integer NOT NULL,
	`state` text DEFAULT 'owed' NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`reason` text,
	`settled_at` integer,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `notifications_public_id_unique` ON `notifications` (`public_id`);--> statement-breakpoint
CREATE INDEX `notifications_due` ON `notifications` (`next_attempt_at`) WHERE state = 'owed';--> statement-breakpoint
CREATE INDEX `notifications_failed` ON `notifications` (`settled_at`) WHERE state = 'failed';--> statement-breakpoint
CREATE INDEX `notifications_recipient` ON `notifications` (`channel`,`recipient`,`settled_at`);--> statement-breakpoint
CREATE INDEX `notifications_age` ON `notifications` (`created_at`);