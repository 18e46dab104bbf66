CREATE TABLE `refunds` (
	`id` integer PRIMARY KEY NOT NULL,
	`order_id` integer NOT NULL,
	`address` text NOT NULL,
	`amount_sat` integer NOT NULL,
	`fee_sat` integer NOT NULL,
	`txid` text,
	`created_at` integer NOT NULL,
	`done_at` integer,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `refunds_order` ON `refunds` (`order_id`);