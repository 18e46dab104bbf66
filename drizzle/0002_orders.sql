CREATE TABLE `events` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text NOT NULL,
	`store_id` integer NOT NULL,
	`order_id` integer,
	`address_id` integer NOT NULL,
	`type` text NOT NULL,
	`body` text NOT NULL,
	`created_at` integer NOT NULL,
	`state` text NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`step` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`due_at` integer GENERATED ALWAYS AS (case state when 'owed' then next_attempt_at end) VIRTUAL,
	`leased_until` integer,
	`settled_at` integer,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`address_id`) REFERENCES `addresses`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `events_public_id_unique` ON `events` (`public_id`);--> statement-breakpoint
CREATE INDEX `events_store` ON `events` (`store_id`,`id`);--> statement-breakpoint
CREATE INDEX `events_type` ON `events` (`store_id`,`type`,`id`);--> statement-breakpoint
CREATE INDEX `events_order` ON `events` (`order_id`) WHERE order_id is not null;--> statement-breakpoint
CREATE INDEX `events_due` ON `events` (`store_id`,`next_attempt_at`) WHERE state = 'owed';--> statement-breakpoint
CREATE INDEX `events_sendable` ON `events` (`store_id`,`due_at`,`address_id`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `events_of_address` ON `events` (`address_id`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `events_exhausted` ON `events` (`id`,`store_id`) WHERE state = 'exhausted';--> statement-breakpoint
CREATE INDEX `events_given_up` ON `events` (`settled_at`) WHERE state = 'exhausted';--> statement-breakpoint
CREATE INDEX `events_leased` ON `events` (`store_id`) WHERE leased_until is not null;--> statement-breakpoint
CREATE INDEX `events_age` ON `events` (`created_at`);--> statement-breakpoint
CREATE TABLE `orders` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text NOT NULL,
	`store_id` integer NOT NULL,
	`address_id` integer NOT NULL,
	`currency` text,
	`amount_minor` integer,
	`amount_sat` integer NOT NULL,
	`tolerance_basis_points` integer NOT NULL,
	`late_policy` text NOT NULL,
	`quote_seconds` integer NOT NULL,
	`reference` text,
	`description` text,
	`metadata` text DEFAULT '{}' NOT NULL,
	`return_url` text,
	`language` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`canceled_at` integer,
	`accepted_at` integer,
	`accepted_sat` integer,
	`scanned_at` integer,
	`status` text NOT NULL,
	`version` integer NOT NULL,
	`fingerprint` text NOT NULL,
	`paid_at` integer,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`address_id`) REFERENCES `addresses`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `orders_public_id_unique` ON `orders` (`public_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `orders_address_id_unique` ON `orders` (`address_id`);--> statement-breakpoint
CREATE INDEX `orders_store` ON `orders` (`store_id`,`id`);--> statement-breakpoint
CREATE INDEX `orders_status` ON `orders` (`store_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `orders_reference` ON `orders` (`reference`,`id`) WHERE reference is not null;--> statement-breakpoint
CREATE INDEX `orders_created` ON `orders` (`store_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `orders_expiring` ON `orders` (`expires_at`) WHERE status = 'open';--> statement-breakpoint
CREATE TABLE `quotes` (
	`id` integer PRIMARY KEY NOT NULL,
	`order_id` integer NOT NULL,
	`rate_cents` integer NOT NULL,
	`amount_sat` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `quotes_order` ON `quotes` (`order_id`);--> statement-breakpoint
CREATE TABLE `webhook_attempts` (
	`id` integer PRIMARY KEY NOT NULL,
	`event_id` integer NOT NULL,
	`started_at` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	`phases` text DEFAULT '{}' NOT NULL,
	`address` text,
	`outcome` text NOT NULL,
	`http_status` integer,
	`reason` text,
	`body` text,
	FOREIGN KEY (`event_id`) REFERENCES `events`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `webhook_attempts_event` ON `webhook_attempts` (`event_id`);--> statement-breakpoint
ALTER TABLE `addresses` ADD `order_id` integer;--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `body_hash` blob;--> statement-breakpoint
ALTER TABLE `payments` ADD `interrupted_at` integer;--> statement-breakpoint
ALTER TABLE `stores` ADD `webhook_url` text;--> statement-breakpoint
ALTER TABLE `stores` ADD `webhook_events` text DEFAULT 'order' NOT NULL;--> statement-breakpoint
ALTER TABLE `stores` ADD `late_policy` text DEFAULT 'worth' NOT NULL;--> statement-breakpoint
ALTER TABLE `stores` ADD `order_seconds` integer DEFAULT 3600 NOT NULL;--> statement-breakpoint
ALTER TABLE `stores` ADD `quote_seconds` integer DEFAULT 900 NOT NULL;--> statement-breakpoint
ALTER TABLE `stores` ADD `tolerance_basis_points` integer DEFAULT 50 NOT NULL;--> statement-breakpoint
ALTER TABLE `stores` ADD `return_url` text;--> statement-breakpoint
ALTER TABLE `stores` ADD `language` text;