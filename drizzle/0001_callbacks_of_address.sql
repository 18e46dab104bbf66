ALTER TABLE `callbacks` ADD `address_id` integer REFERENCES addresses(id);--> statement-breakpoint
UPDATE `callbacks` SET `address_id` = (SELECT `address_id` FROM `payments` WHERE `payments`.`id` = `payment_id`);--> statement-breakpoint
ALTER TABLE `callbacks` ADD `confirm_at` integer;--> statement-breakpoint
ALTER TABLE `callbacks` ADD `due_at` integer GENERATED ALWAYS AS (case state when 'owed' then next_attempt_at when 'delivered' then confirm_at end) VIRTUAL;--> statement-breakpoint
CREATE INDEX `callbacks_sendable` ON `callbacks` (`store_id`,`due_at`,`address_id`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `callbacks_of_address` ON `callbacks` (`address_id`) WHERE due_at is not null;