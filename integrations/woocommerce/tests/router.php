<?php
/**
 * A shop for `php -S`: the plugin with the stubs, behind the requests that a shop gets. Loopback only.
 */

require __DIR__ . '/stubs.php';
require dirname( __DIR__ ) . '/paygate-for-woocommerce.php';
do_action( 'before_woocommerce_init' );
do_action( 'plugins_loaded' );
do_action( 'rest_api_init' );

header( 'Content-Type: application/json' );
$path  = parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH );
$order = (int) ( $_GET['order'] ?? 0 );

if ( isset( $_GET['rest_route'] ) ) {
	$route   = $stub_routes[ $_GET['rest_route'] ] ?? null;
	$request = new WP_REST_Request( getallheaders(), file_get_contents( 'php://input' ) );
	$answer  = null === $route || $_SERVER['REQUEST_METHOD'] !== $route['methods'] || ! $route['permission_callback']()
		? new WP_REST_Response( array( 'code' => 'rest_no_route' ), 404 )
		: $route['callback']( $request );
	http_response_code( $answer->status );
	echo json_encode( $answer->data );
} elseif ( '/checkout' === $path ) {
	try {
		echo json_encode( paygate_for_woocommerce()->process_payment( $order ) );
	} catch ( Exception $error ) {
		echo json_encode( array( 'result' => 'failure' ) );
	}
} elseif ( '/test' === $path ) {
	echo json_encode( paygate_for_woocommerce()->test_connection() );
} elseif ( '/cancel' === $path ) {
	echo json_encode( wc_get_order( $order )->update_status( 'cancelled' ) );
} elseif ( '/cancel-unpaid' === $path ) {
	echo json_encode( apply_filters( 'woocommerce_cancel_unpaid_order', true, wc_get_order( $order ) ) );
} elseif ( '/order-received' === $path ) {
	do_action( 'woocommerce_thankyou_paygate', $order );
} else {
	http_response_code( 404 );
}
