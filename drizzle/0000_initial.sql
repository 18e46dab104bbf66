CREATE TABLE `addresses` (
	`id` integer PRIMARY KEY NOT NULL,
	`wallet_id` integer NOT NULL,
	`branch` integer NOT NULL,
	`derivation_index` integer NOT NULL,
	`address` text NOT NULL,
	`script` blob NOT NULL,
	`scripthash` text NOT NULL,
	`origin` text NOT NULL,
	`store_id` integer,
	`issued_at` integer,
	`order_id` integer,
	`status_hash` text,
	FOREIGN KEY (`wallet_id`) REFERENCES `wallets`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `addresses_scripthash_unique` ON `addresses` (`scripthash`);--> statement-breakpoint
CREATE INDEX `addresses_origin` ON `addresses` (`wallet_id`,`origin`,`derivation_index`);--> statement-breakpoint
CREATE INDEX `addresses_issued` ON `addresses` (`issued_at`) WHERE issued_at is not null;--> statement-breakpoint
CREATE INDEX `addresses_foreign` ON `addresses` (`id`) WHERE origin = 'foreign';--> statement-breakpoint
CREATE INDEX `addresses_seen` ON `addresses` (`wallet_id`,`branch`,`derivation_index`) WHERE status_hash is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `addresses_place` ON `addresses` (`wallet_id`,`branch`,`derivation_index`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` integer PRIMARY KEY NOT NULL,
	`hash` blob NOT NULL,
	`secret` text,
	`scope` text DEFAULT 'payments' NOT NULL,
	`store_id` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`plugin_until` integer,
	`plugin` text DEFAULT 'standard' NOT NULL,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE TABLE `audit` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`key_id` integer,
	`action` text NOT NULL,
	`store_id` integer,
	`detail` text NOT NULL,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_key` ON `audit` (`key_id`) WHERE key_id is not null;--> statement-breakpoint
CREATE TABLE `headers` (
	`hash` text PRIMARY KEY NOT NULL,
	`height` integer NOT NULL,
	`raw` blob NOT NULL,
	`work` blob NOT NULL,
	`on_best` integer DEFAULT false NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `headers_best` ON `headers` (`height`) WHERE on_best = 1;--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`id` integer PRIMARY KEY NOT NULL,
	`store_id` integer NOT NULL,
	`key` text NOT NULL,
	`address_id` integer NOT NULL,
	`body_hash` blob,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`address_id`) REFERENCES `addresses`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_age` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_identity` ON `idempotency_keys` (`store_id`,`key`);--> statement-breakpoint
CREATE TABLE `payments` (
	`id` integer PRIMARY KEY NOT NULL,
	`address_id` integer NOT NULL,
	`txid` text NOT NULL,
	`value_sat` integer NOT NULL,
	`state` text NOT NULL,
	`height` integer,
	`block_hash` text,
	`replaced_by` text,
	`coinbase` integer DEFAULT false NOT NULL,
	`signals_rbf` integer DEFAULT false NOT NULL,
	`status` integer,
	`cycle` integer DEFAULT 0 NOT NULL,
	`currency` text,
	`price_cents` integer,
	`price_sources` text,
	`first_seen_at` integer NOT NULL,
	`interrupted_at` integer,
	`first_block_at` integer,
	`changed_at` integer NOT NULL,
	`preimage` text,
	FOREIGN KEY (`address_id`) REFERENCES `addresses`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `payments_address` ON `payments` (`address_id`);--> statement-breakpoint
CREATE INDEX `payments_in_block` ON `payments` (`state`,`height`) WHERE state = 'confirming' or state = 'confirmed';--> statement-breakpoint
CREATE INDEX `payments_txid` ON `payments` (`txid`);--> statement-breakpoint
CREATE INDEX `payments_value` ON `payments` (`value_sat`);--> statement-breakpoint
CREATE INDEX `payments_unsettled` ON `payments` (`address_id`) WHERE state in ('unconfirmed', 'confirming', 'confirmed');--> statement-breakpoint
CREATE INDEX `payments_seen` ON `payments` (`state`,`first_seen_at`,`id`,`value_sat`);--> statement-breakpoint
CREATE INDEX `payments_currency` ON `payments` (`currency`,`first_seen_at`) WHERE currency is not null;--> statement-breakpoint
CREATE INDEX `payments_unpriced` ON `payments` (case when preimage is null then first_seen_at else changed_at end) WHERE currency is not null and price_cents is null;--> statement-breakpoint
CREATE INDEX `payments_reversed` ON `payments` (`state`,`changed_at`) WHERE state = 'dropped' and (status <> 0 or cycle > 0);--> statement-breakpoint
CREATE INDEX `payments_fallen` ON `payments` (`state`,`changed_at`) WHERE state = 'unconfirmed' and cycle > 0;--> statement-breakpoint
CREATE UNIQUE INDEX `payments_identity` ON `payments` (`address_id`,`txid`);--> statement-breakpoint
CREATE TABLE `servers` (
	`label` text PRIMARY KEY NOT NULL,
	`trust` text,
	`pin_sha256` text,
	`learned_at` integer NOT NULL,
	`banned_until` integer,
	`ban_reason` text
) STRICT;
--> statement-breakpoint
CREATE TABLE `settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `stores` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text DEFAULT (lower(hex(randomblob(12)))) NOT NULL,
	`name` text NOT NULL,
	`wallet_id` integer,
	`callback_url` text NOT NULL,
	`required_confirmations` integer NOT NULL,
	`confirmation_bands` text DEFAULT '[]' NOT NULL,
	`reversal_callback` integer DEFAULT false NOT NULL,
	`omit_rbf` integer DEFAULT false NOT NULL,
	`minimum_sat` integer,
	`currency` text,
	`allow_private_callback` integer DEFAULT false NOT NULL,
	`allow_http_callback` integer DEFAULT false NOT NULL,
	`callback_ca` text,
	`webhook_secret` text NOT NULL,
	`previous_webhook_secret` text,
	`previous_secret_until` integer,
	`created_at` integer NOT NULL,
	`archived_at` integer,
	`callbacks_stopped` integer DEFAULT false NOT NULL,
	`late_policy` text DEFAULT 'worth' NOT NULL,
	`order_seconds` integer DEFAULT 3600 NOT NULL,
	`quote_seconds` integer DEFAULT 900 NOT NULL,
	`tolerance_basis_points` integer DEFAULT 50 NOT NULL,
	`adjust_basis_points` integer DEFAULT 0 NOT NULL,
	`return_url` text,
	`auto_return` integer DEFAULT false NOT NULL,
	`receipt_address` text,
	`contact` text,
	`language` text,
	`embed_origins` text DEFAULT '' NOT NULL,
	`failing_callbacks` text,
	`doubtful_answers` text,
	`has_accepted` integer DEFAULT false NOT NULL,
	FOREIGN KEY (`wallet_id`) REFERENCES `wallets`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `stores_public_id_unique` ON `stores` (`public_id`);--> statement-breakpoint
CREATE TABLE `transactions` (
	`txid` text PRIMARY KEY NOT NULL,
	`raw` blob NOT NULL,
	`first_seen_at` integer NOT NULL,
	`broadcast_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `transactions_broadcast` ON `transactions` (`broadcast_at`);--> statement-breakpoint
CREATE TABLE `wallets` (
	`id` integer PRIMARY KEY NOT NULL,
	`descriptor` text NOT NULL,
	`account` text NOT NULL,
	`script_type` text NOT NULL,
	`next_index` integer NOT NULL,
	`scanned_at` integer,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `wallets_descriptor_unique` ON `wallets` (`descriptor`);--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text DEFAULT (lower(hex(randomblob(12)))) NOT NULL,
	`store_id` integer NOT NULL,
	`format` text NOT NULL,
	`url` text,
	`events` text NOT NULL,
	`secret` text,
	`is_enabled` integer DEFAULT true NOT NULL,
	`failing_events` text,
	`removed_at` integer,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_public_id_unique` ON `webhooks` (`public_id`);--> statement-breakpoint
CREATE INDEX `webhooks_store` ON `webhooks` (`store_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_standard` ON `webhooks` (`store_id`) WHERE format = 'standard';--> statement-breakpoint
CREATE TABLE `admin` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`password_hash` text NOT NULL,
	`password_at` integer NOT NULL,
	`totp_secret` text,
	`totp_step` integer DEFAULT 0 NOT NULL,
	`passkey_user` blob
) STRICT;
--> statement-breakpoint
CREATE TABLE `admin_links` (
	`id` integer PRIMARY KEY NOT NULL,
	`person_id` integer NOT NULL,
	`hash` blob NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `admin_links_person_id_unique` ON `admin_links` (`person_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `admin_links_hash_unique` ON `admin_links` (`hash`);--> statement-breakpoint
CREATE TABLE `passkeys` (
	`id` integer PRIMARY KEY NOT NULL,
	`person_id` integer NOT NULL,
	`credential_id` text NOT NULL,
	`public_key` blob NOT NULL,
	`counter` integer NOT NULL,
	`transports` text NOT NULL,
	`rp_id` text NOT NULL,
	`origin` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer,
	FOREIGN KEY (`person_id`) REFERENCES `admin`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `passkeys_credential_id_unique` ON `passkeys` (`credential_id`);--> statement-breakpoint
CREATE TABLE `recovery_codes` (
	`id` integer PRIMARY KEY NOT NULL,
	`person_id` integer NOT NULL,
	`hash` blob NOT NULL,
	FOREIGN KEY (`person_id`) REFERENCES `admin`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `recovery_codes_hash_unique` ON `recovery_codes` (`hash`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` integer PRIMARY KEY NOT NULL,
	`person_id` integer NOT NULL,
	`hash` blob NOT NULL,
	`created_at` integer NOT NULL,
	`seen_at` integer NOT NULL,
	`confirmed_at` integer NOT NULL,
	`client` text NOT NULL,
	`agent` text NOT NULL,
	FOREIGN KEY (`person_id`) REFERENCES `admin`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_hash_unique` ON `sessions` (`hash`);--> statement-breakpoint
CREATE TABLE `lightning_invoices` (
	`id` integer PRIMARY KEY NOT NULL,
	`order_id` integer NOT NULL,
	`payment_hash` text NOT NULL,
	`invoice` text NOT NULL,
	`amount_sat` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	`fault` text,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `lightning_invoices_payment_hash_unique` ON `lightning_invoices` (`payment_hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `lightning_invoices_open` ON `lightning_invoices` (`order_id`) WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX `lightning_invoices_fault` ON `lightning_invoices` (`ended_at`) WHERE fault is not null;--> statement-breakpoint
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
	`adjust_basis_points` integer,
	`note` text NOT NULL,
	`asks_email` integer NOT NULL,
	`is_active` integer NOT NULL,
	`max_orders` integer,
	`order_count` integer DEFAULT 0 NOT NULL,
	`paid_count` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`idempotency_key` text,
	`body_hash` blob,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `links_public_id_unique` ON `links` (`public_id`);--> statement-breakpoint
CREATE INDEX `links_store` ON `links` (`store_id`,`id`);--> statement-breakpoint
CREATE INDEX `links_active` ON `links` (`store_id`,`currency`) WHERE is_active = 1;--> statement-breakpoint
CREATE INDEX `links_idempotency` ON `links` (`store_id`,`idempotency_key`) WHERE idempotency_key is not null;--> statement-breakpoint
CREATE TABLE `orders` (
	`id` integer PRIMARY KEY NOT NULL,
	`public_id` text NOT NULL,
	`store_id` integer NOT NULL,
	`address_id` integer NOT NULL,
	`link_id` integer,
	`till_id` integer,
	`currency` text,
	`amount_minor` integer,
	`adjust_basis_points` integer DEFAULT 0 NOT NULL,
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
	`first_paid_at` integer,
	`invoice` text,
	`invoice_metadata` text,
	`payer_network` text,
	`customer_email` text,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`address_id`) REFERENCES `addresses`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`link_id`) REFERENCES `links`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`till_id`) REFERENCES `tills`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `orders_public_id_unique` ON `orders` (`public_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `orders_address_id_unique` ON `orders` (`address_id`);--> statement-breakpoint
CREATE INDEX `orders_status` ON `orders` (`store_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `orders_reference` ON `orders` (`store_id`,`reference`,`status`,`created_at`) WHERE reference is not null;--> statement-breakpoint
CREATE INDEX `orders_link` ON `orders` (`store_id`,`link_id`,`status`,`created_at`) WHERE link_id is not null;--> statement-breakpoint
CREATE INDEX `orders_link_reference` ON `orders` (`store_id`,`link_id`,`reference`,`status`,`created_at`) WHERE link_id is not null and reference is not null;--> statement-breakpoint
CREATE INDEX `orders_minor` ON `orders` (`amount_minor`) WHERE amount_minor is not null;--> statement-breakpoint
CREATE INDEX `orders_sat` ON `orders` (`amount_sat`);--> statement-breakpoint
CREATE INDEX `orders_till` ON `orders` (`till_id`,`created_at`) WHERE till_id is not null;--> statement-breakpoint
CREATE INDEX `orders_network` ON `orders` (`payer_network`) WHERE payer_network is not null;--> statement-breakpoint
CREATE INDEX `orders_expiring` ON `orders` (`expires_at`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `orders_expired` ON `orders` (`expires_at`) WHERE status = 'expired';--> statement-breakpoint
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
CREATE TABLE `refunds` (
	`id` integer PRIMARY KEY NOT NULL,
	`order_id` integer NOT NULL,
	`address` text,
	`choice` text NOT NULL,
	`amount_sat` integer NOT NULL,
	`fee_sat` integer NOT NULL,
	`txid` text,
	`currency` text,
	`price_cents` integer,
	`created_at` integer NOT NULL,
	`done_at` integer,
	`height` integer,
	`block_hash` text,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `refunds_order` ON `refunds` (`order_id`);--> statement-breakpoint
CREATE INDEX `refunds_done` ON `refunds` (`done_at`) WHERE done_at is not null;--> statement-breakpoint
CREATE INDEX `refunds_txid` ON `refunds` (`txid`) WHERE txid is not null;--> statement-breakpoint
CREATE TABLE `tills` (
	`id` integer PRIMARY KEY NOT NULL,
	`store_id` integer NOT NULL,
	`name` text NOT NULL,
	`seen_up_to` integer,
	`code_hash` blob,
	`code_until` integer,
	`token_hash` blob,
	`created_at` integer NOT NULL,
	`seen_at` integer,
	`removed_at` integer,
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `tills_code_hash_unique` ON `tills` (`code_hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `tills_token_hash_unique` ON `tills` (`token_hash`);--> statement-breakpoint
CREATE TABLE `typed_emails` (
	`order_id` integer PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`typed_at` integer NOT NULL,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `typed_emails_network` ON `typed_emails` (`network`,`typed_at`);--> statement-breakpoint
CREATE INDEX `typed_emails_age` ON `typed_emails` (`typed_at`);--> statement-breakpoint
CREATE TABLE `attempts` (
	`id` integer PRIMARY KEY NOT NULL,
	`channel` text NOT NULL,
	`delivery_id` integer NOT NULL,
	`started_at` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	`phases` text DEFAULT '{}' NOT NULL,
	`address` text,
	`outcome` text NOT NULL,
	`http_status` integer,
	`reason` text,
	`body` text,
	`doubt` text,
	FOREIGN KEY (`channel`,`delivery_id`) REFERENCES `deliveries`(`channel`,`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `attempts_delivery` ON `attempts` (`channel`,`delivery_id`);--> statement-breakpoint
CREATE INDEX `attempts_doubted` ON `attempts` (`channel`,`delivery_id`) WHERE doubt is not null;--> statement-breakpoint
CREATE TABLE `deliveries` (
	`channel` text NOT NULL,
	`id` integer NOT NULL,
	`store_id` integer NOT NULL,
	`webhook_id` integer,
	`receiver_id` integer GENERATED ALWAYS AS (coalesce(webhook_id, store_id)) VIRTUAL,
	`address_id` integer NOT NULL,
	`event_id` text NOT NULL,
	`content` text NOT NULL,
	`payment_id` integer,
	`version` integer,
	`status` integer,
	`type` text,
	`order_id` integer,
	`order_state` text,
	`state` text NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`step` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`confirm_at` integer,
	`due_at` integer GENERATED ALWAYS AS (case state when 'owed' then next_attempt_at when 'delivered' then confirm_at end) VIRTUAL,
	`leased_until` integer,
	`created_at` integer NOT NULL,
	`settled_at` integer,
	PRIMARY KEY(`channel`, `id`),
	FOREIGN KEY (`store_id`) REFERENCES `stores`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`webhook_id`) REFERENCES `webhooks`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`address_id`) REFERENCES `addresses`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payment_id`) REFERENCES `payments`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`order_id`) REFERENCES `orders`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_version` ON `deliveries` (`payment_id`,`version`) WHERE payment_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_callback` ON `deliveries` (`payment_id`,`event_id`) WHERE payment_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_event` ON `deliveries` (`channel`,`event_id`) WHERE type is not null;--> statement-breakpoint
CREATE INDEX `deliveries_store` ON `deliveries` (`channel`,`store_id`,`id`);--> statement-breakpoint
CREATE INDEX `deliveries_type` ON `deliveries` (`channel`,`store_id`,`type`,`id`) WHERE type is not null;--> statement-breakpoint
CREATE INDEX `deliveries_order` ON `deliveries` (`order_id`,`channel`,`id`) WHERE order_id is not null;--> statement-breakpoint
CREATE INDEX `deliveries_age` ON `deliveries` (`channel`,`created_at`) WHERE type is not null;--> statement-breakpoint
CREATE INDEX `deliveries_owed` ON `deliveries` (`channel`,`store_id`,`id`,`receiver_id`) WHERE state = 'owed';--> statement-breakpoint
CREATE INDEX `deliveries_sendable` ON `deliveries` (`channel`,`receiver_id`,`due_at`,`address_id`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `deliveries_of_address` ON `deliveries` (`channel`,`address_id`,`id`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `deliveries_exhausted` ON `deliveries` (`channel`,`store_id`,`id`) WHERE state = 'exhausted';--> statement-breakpoint
CREATE INDEX `deliveries_given_up` ON `deliveries` (`channel`,`settled_at`,`receiver_id`) WHERE state = 'exhausted';--> statement-breakpoint
CREATE INDEX `deliveries_leased` ON `deliveries` (`channel`,`receiver_id`) WHERE leased_until is not null;--> statement-breakpoint
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
CREATE INDEX `notifications_age` ON `notifications` (`created_at`);--> statement-breakpoint
CREATE INDEX `addresses_end` ON `addresses` (substr(`address`, -4));
--> statement-breakpoint
CREATE VIEW `searched_orders` AS SELECT `id`, concat_ws(char(10), `reference`, `description`, `customer_email`,
  (SELECT group_concat(`value`, char(10)) FROM json_each(`metadata`)),
  `invoice_metadata` ->> '$.buyerEmail', `invoice_metadata` ->> '$.buyerName') AS `text` FROM `orders`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `order_texts` USING fts5(`text`, content='', columnsize=0, detail=none,
  tokenize='trigram remove_diacritics 1');
--> statement-breakpoint
INSERT INTO `order_texts` (`order_texts`, rank) VALUES ('secure-delete', 1);
--> statement-breakpoint
CREATE TRIGGER `orders_made` AFTER INSERT ON `orders` BEGIN
  INSERT INTO `order_texts` (rowid, `text`) SELECT `id`, `text` FROM `searched_orders` WHERE `id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `orders_text_old` BEFORE UPDATE OF `reference`, `description`, `customer_email`, `metadata`,
  `invoice_metadata` ON `orders` BEGIN
  INSERT INTO `order_texts` (`order_texts`, rowid, `text`)
    SELECT 'delete', `id`, `text` FROM `searched_orders` WHERE `id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `orders_text_new` AFTER UPDATE OF `reference`, `description`, `customer_email`, `metadata`,
  `invoice_metadata` ON `orders` BEGIN
  INSERT INTO `order_texts` (rowid, `text`) SELECT `id`, `text` FROM `searched_orders` WHERE `id` = new.`id`;
END;
