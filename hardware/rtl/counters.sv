// Counters of one port, under the names of `pullnet_switch::PortCounters`; a host reads them by number.
module counters
  import pullnet_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic arrives,
    input logic arrival_error,
    input logic arrival_discard,
    input len_t arrival_len,
    input logic arrival_group,
    input logic leaves,
    input frame_t leaving,
    input logic offered,
    input verdict_t verdict,
    input logic cut,
    input logic marked,
    input logic [7:0] held_data,
    input logic [7:0] held_control,
    input logic [4:0] address,
    output logic [31:0] value
);
  localparam int COUNT = 17;
  logic [COUNT-1:0][31:0] words;
  // What is counted is noted in one cycle and added in the next.
  logic [14:0] steps, steps1;
  logic header, offered1, arrives1, leaves1;
  len_t arrival_len1, leaving_len1;
  logic [7:0] held_data1, held_control1;
  assign header = leaving.kind == HEADER || leaving.kind == RETURNED;
  always_comb begin
    steps = '0;
    steps[1] = arrives && !arrival_group;
    steps[2] = arrives && arrival_group;
    steps[3] = arrival_discard;
    steps[4] = arrival_error;
    steps[6] = leaves && !leaving.group;
    steps[7] = leaves && leaving.group;
    steps[8] = offered && (verdict == DATA_FULL || verdict == CONTROL_FULL);
    steps[9] = offered && marked;
    steps[10] = offered && cut;
    steps[11] = offered && cut && verdict == CONTROL_FULL;
    steps[12] = leaves && (leaving.kind == DATA || leaving.kind == FOREIGN);
    steps[13] = leaves && header;
    steps[14] = offered && verdict == SENT_BACK;
  end
  always_ff @(posedge clk) begin
    offered1 <= offered && !rst;
    arrives1 <= arrives;
    arrival_len1 <= arrival_len;
    leaves1 <= leaves;
    leaving_len1 <= leaving.len;
    steps1 <= steps;
    held_data1 <= held_data;
    held_control1 <= held_control;
    if (rst) words <= '0;
    else begin
      for (int n = 0; n < 15; n++) if (steps1[n]) words[n] <= words[n] + 1'b1;
      if (arrives1) words[0] <= words[0] + 32'(arrival_len1);
      if (leaves1) words[5] <= words[5] + 32'(leaving_len1);
      // What was held when the queue had taken the frame: `offered` comes in that cycle.
      if (offered1 && 32'(held_data1) > words[15]) words[15] <= 32'(held_data1);
      if (offered1 && 32'(held_control1) > words[16]) words[16] <= 32'(held_control1);
    end
    value <= address < 5'(COUNT) ? words[address] : '0;
  end
endmodule
