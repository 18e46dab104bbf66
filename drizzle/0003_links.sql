CREATE TABLE `links` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text NOT NULL,
	`store_id` integer NOT NULL,
	`title` text NOT NULL,
	`description` text,
	`currency` text,
	`amount` integer,
	`min_amount` integer,
	`max_amount` integer,
	`suggested` text DEFAULT '[]' NOT NULL,
	`note` text NOT NULL,
	`view` text NOT NULL,
	`is_active` integer NOT NULL,
	`max_orders` integer,
	`created_at` integer NOT NULL,
	`idempotency_key` text,
	`body_hash` blob,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `links_public_id_unique` ON `links` (`public_id`);--> statement-breakpoint
CREATE INDEX `links_store` ON `links` (`store_id`,`id`);--> statement-breakpoint
CREATE INDEX `links_idempotency` ON `links` (`store_id`,`idempotency_key`) WHERE idempotency_key is not null;--> statement-breakpoint
ALTER TABLE `stores` ADD `embed_origins` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `orders` ADD `link_id` integer REFERENCES links(id);--> statement-breakpoint
CREATE INDEX `orders_link` ON `orders` (`link_id`,`id`) WHERE link_id is not null;--> statement-breakpoint
CREATE INDEX `orders_link_paid` ON `orders` (`link_id`) WHERE link_id is not null and status = 'paid';