// Forwarding table: routes by IPv4 prefix, fixed Ethernet addresses, and learned ones, in this order. Routes and fixed
// entries have equal ports that a label chooses among. One frame in each cycle is learned and looked up; the answer is there
// one cycle later, until the next frame comes.
module table_lookup
  import pullnet_pkg::*;
#(
    parameter int FIXED = 8,
    parameter int ROUTES = 8,
    parameter int LEARNED = 16
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input entry_t [FIXED-1:0] fixed,
    input route_t [ROUTES-1:0] routes,
    input logic enable,         // a frame is there and moves on
    input logic learns,         // its source address may be learned
    input logic [2:0] ingress,
    input mac_t to,
    input mac_t from,
    input logic v4,
    input ip_t to_ip,
    output logic known,         // one cycle later
    output logic by_label,
    output logic [2:0] port,
    output ways_t ways
);
  localparam int A = $clog2(LEARNED + 1);
  mac_t [LEARNED-1:0] macs;
  logic [LEARNED-1:0][2:0] ports;
  logic [A-1:0] count;
  logic [FIXED-1:0] fixed_to, fixed_from;
  logic [ROUTES-1:0] in_route;
  logic [LEARNED-1:0] learned_to, learned_from;
  // The frame before, whose sender is learned in this cycle.
  logic may_learn, learn, adds;
  logic [LEARNED-1:0] known_as;
  mac_t sender;
  logic [2:0] own;

  always_comb begin
    learn = may_learn && (known_as != 0 || count != A'(LEARNED));
    adds = learn && known_as == 0;
    for (int e = 0; e < FIXED; e++) begin
      fixed_to[e] = fixed[e].valid && fixed[e].mac == to;
      fixed_from[e] = fixed[e].valid && fixed[e].mac == from;
    end
    for (int e = 0; e < ROUTES; e++)
      in_route[e] = v4 && routes[e].valid && ((to_ip ^ routes[e].net) & routes[e].bits) == 0;
    for (int e = 0; e < LEARNED; e++) begin
      learned_to[e] = e < int'(count) ? macs[e] == to : adds && e == int'(count) && sender == to;
      learned_from[e] = e < int'(count) ? macs[e] == from : adds && e == int'(count) && sender == from;
    end
  end

  always_ff @(posedge clk) begin
    may_learn <= enable && learns && cfg.learn && !from[40] && fixed_from == 0 && !rst;
    if (enable) begin
      known_as <= learned_from;
      sender <= from;
      own <= ingress;
    end
    if (rst) count <= '0;
    else if (adds) count <= count + 1'b1;
    for (int e = 0; e < LEARNED; e++) begin
      if (adds && int'(count) == e) macs[e] <= sender;
      if (learn && (known_as[e] || (adds && int'(count) == e))) ports[e] <= own;
    end
  end

  // Second cycle: the entry that was found.
  logic [FIXED-1:0] fixed_hit;
  logic [ROUTES-1:0] route_hit;
  logic [LEARNED-1:0] learned_hit;
  logic to_itself, learned, found_itself;
  always_ff @(posedge clk) begin
    if (enable) begin
      route_hit <= in_route & (~in_route + 1'b1);
      fixed_hit <= in_route != 0 ? '0 : fixed_to;
      learned_hit <= learned_to;
      to_itself <= to == from;
    end
    learned <= learn || (learned && !enable);
  end
  always_comb begin
    found_itself = to_itself && (learn || learned);
    ways = '0;
    port = '0;
    for (int e = 0; e < ROUTES; e++) if (route_hit[e]) ways |= routes[e].ways;
    for (int e = 0; e < FIXED; e++) if (fixed_hit[e]) ways |= fixed[e].ways;
    for (int e = 0; e < LEARNED; e++) if (learned_hit[e]) port |= ports[e];
    if (found_itself) port = own;
    by_label = route_hit != 0 || fixed_hit != 0;
    known = by_label || learned_hit != 0 || found_itself;
  end
endmodule
